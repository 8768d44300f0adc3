// Small rows of the server's own, and the threads of foreign runtimes.
import type { Document } from '../ports/documents.ts'
import type { ThreadStep, ThreadWrite } from '../ports/threads.ts'
import { count, describe, flag, maybe, text, time } from './describe.ts'

export const documents = describe<Document>(
  'documents',
  {
    kind: text('kind'),
    namespace: text('namespace'),
    id: text('document_id'),
    version: count('version'),
    bodyJson: text('body_json'),
    dueAt: maybe(time('due_at')),
    expiresAt: maybe(time('expires_at')),
    createdAt: time('created_at'),
    updatedAt: time('updated_at'),
  },
  { key: ['kind', 'namespace', 'id'] },
)

export const threadSteps = describe<ThreadStep>(
  'thread_steps',
  {
    namespace: text('namespace'),
    threadId: text('thread_id'),
    space: text('space'),
    stepId: text('step_id'),
    parentId: maybe(text('parent_id')),
    whole: flag('whole'),
    createdAt: time('created_at'),
    noteJson: text('note_json'),
    // The last of the row: whoever wants no body reads none of its pages.
    bodyJson: text('body_json'),
  },
  { key: ['namespace', 'threadId', 'space', 'stepId'] },
)

export const threadWrites = describe<ThreadWrite>(
  'thread_writes',
  {
    namespace: text('namespace'),
    threadId: text('thread_id'),
    space: text('space'),
    stepId: text('step_id'),
    taskId: text('task_id'),
    place: count('place'),
    channel: text('channel'),
    bodyJson: text('body_json'),
  },
  { key: ['namespace', 'threadId', 'space', 'stepId', 'taskId', 'place'] },
)
