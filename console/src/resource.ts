// Something that the server knows, kept fresh. What was shown stays while it is fetched again, so
// that a page never blinks; and a problem says so and offers another try.
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, Problem } from './api.ts'
import { changes } from './live.ts'

export interface Resource<T> {
  readonly data: T | null
  readonly problem: Problem | null
  readonly reload: () => void
}

interface Known<T> {
  readonly path: string | null
  readonly data: T | null
  readonly problem: Problem | null
}

/** `path` null: nothing is asked. `live` false: it never changes. */
export function useResource<T>(path: string | null, live = true): Resource<T> {
  const [known, setKnown] = useState<Known<T>>({ path, data: null, problem: null })
  const [wish, setWish] = useState(0)
  const asked = useRef(0)
  const shown = useRef(0)
  const version = live ? changes.value : 0
  useEffect(() => {
    if (path === null) return
    const mine = ++asked.current
    const answered = (data: T | null, problem: Problem | null) => {
      // In order: an answer that was overtaken is old news. Hints may come faster than answers.
      if (mine < shown.current) return
      shown.current = mine
      setKnown((old) => ({ path, data: data ?? (old.path === path ? old.data : null), problem }))
    }
    api<T>(path).then(
      (data) => answered(data, null),
      (error) => answered(null, asProblem(error)),
    )
  }, [path, version, wish])
  const fresh = known.path === path ? known : { data: null, problem: null }
  return { data: fresh.data, problem: fresh.problem, reload: () => setWish(wish + 1) }
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new Problem({ status: 0, code: 'UNEXPECTED', title: 'Something unexpected', detail })
}
