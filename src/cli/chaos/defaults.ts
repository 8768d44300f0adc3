// Enough to find what is wrong nearly always, and soon enough for every push.
export const killsDefault = 50

export const timeoutMsDefault = 60_000
