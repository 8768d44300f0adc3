// Where a person sees whether a call happened: what its tool says, before anything else.
import type { ItemPageData } from '../wire.ts'

type Look = NonNullable<ItemPageData['where_to_look']>

export function WhereToLook({ look }: { look: Look | null }) {
  if (look === null) return null
  const { url, say, fault } = look
  // The server lets only such addresses through; a link is worth a second look.
  const link = url !== null && /^https?:\/\//i.test(url) ? url : null
  return (
    <p class="note busy look" role="note">
      <span class="strong">Look here first. </span>
      {say}
      {link === null ? null : (
        <a class="under" href={link} target="_blank" rel="noopener noreferrer">
          {link}
        </a>
      )}
      {fault === null ? null : <span class="under dim">{`No link is shown: ${fault}.`}</span>}
    </p>
  )
}
