// Which addresses a webhook may be sent to. A name is looked up once, by the connection itself, and
// what it leads to is judged then: a name that leads elsewhere the next time gains nothing.
import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { type CounterfoilError, errorFor } from '../../model/errors.ts'

const inner = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  inner.addSubnet(net, bits, 'ipv4')
}
for (const [net, bits] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  inner.addSubnet(net, bits, 'ipv6')
}

/** This machine, its neighbours, and what is nobody's: not the internet. */
export function isPrivate(address: string): boolean {
  const [bare = ''] = address.split('%')
  const kind = isIP(bare)
  if (kind === 0) return true
  return inner.check(bare, kind === 4 ? 'ipv4' : 'ipv6')
}

export interface AddressRules {
  readonly allowPrivate: boolean
  /** The system's, unless a test has another. */
  readonly lookup?: typeof systemLookup
}

/** The host of a URL that is an address already is never looked up. */
export function checkLiteral(host: string, { allowPrivate }: AddressRules): void {
  const bare = host.replace(/^\[|\]$/g, '')
  if (!allowPrivate && isIP(bare) !== 0 && isPrivate(bare)) throw forbidden(host, bare)
}

/** For `http.request`: only what may be connected to is given out. */
export function guardedLookup(rules: AddressRules): LookupFunction {
  const lookup = rules.lookup ?? systemLookup
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return done(error, '', 4)
      const bad = rules.allowPrivate ? undefined : found.find(({ address }) => isPrivate(address))
      if (bad) return done(forbidden(host, bad.address), '', 4)
      const [first] = found
      if (first === undefined) return done(new Error(`${host} has no address`), '', 4)
      if (options.all) return done(null, found as never, 4)
      done(null, first.address, first.family)
    })
  }
}

export function forbidden(host: string, address: string): CounterfoilError {
  return errorFor('WEBHOOK_ADDRESS', host, address)
}
