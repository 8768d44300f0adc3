import { useState } from 'preact/hooks'
import { api, mayWrite, type Problem } from '../api.ts'
import { asProblem } from '../resource.ts'
import { Failure, Section } from '../ui/parts.tsx'
import { Time } from '../ui/time.tsx'
import type { ItemPageData } from '../wire.ts'

export function Comments({ item, reload }: { item: ItemPageData; reload: () => void }) {
  const { comments } = item
  return (
    <Section title="Comments">
      {comments.length === 0 ? <p class="dim">None yet.</p> : null}
      <ul class="plain comments">
        {comments.map((comment) => (
          <li key={`${comment.at}${comment.by}`}>
            <span class="strong">{comment.by}</span> <Time at={comment.at} />
            <span class="under text">{comment.text}</span>
          </li>
        ))}
      </ul>
      {mayWrite() ? <Write id={item.item_id} reload={reload} /> : null}
    </Section>
  )
}

function Write({ id, reload }: { id: string; reload: () => void }) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const send = async () => {
    try {
      const path = `/v1/inbox/${encodeURIComponent(id)}/comments`
      await api(path, { method: 'POST', body: { text } })
      setText('')
      setProblem(null)
      reload()
    } catch (error) {
      setProblem(asProblem(error))
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label class="field">
        <span>A comment, for whoever looks next</span>
        <textarea
          rows={2}
          value={text}
          maxLength={4_000}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {problem === null ? null : <Failure problem={problem} />}
      <button type="submit" disabled={text.trim() === ''}>
        Comment
      </button>
    </form>
  )
}
