// URLs for people: a message may be kept where a password must not be.

/** The URL without its password, whether it can be parsed or not. */
export function hidePassword(url: string): string {
  return url
    .replace(/:\/\/([^:/?#@]*):.*@/, '://$1:…@')
    .replaceAll(/([?&](?:ssl)?password=)[^&#]*/gi, '$1…')
}
