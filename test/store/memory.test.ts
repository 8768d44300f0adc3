import { describe, expect, test } from 'vitest'
import { openMemory } from '../../src/store/memory/index.ts'
import { storeSuite } from '../../src/testing/index.ts'

storeSuite(
  'memory',
  { open: async (clock) => openMemory({ clock }), durable: false },
  { describe, test, expect },
)
