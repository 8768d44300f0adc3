// Who may do what, and text that would be more than text.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canBrowse } from './browser.ts'
import { type Process, Stage } from './stage.ts'

const evil = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=2</script>'
const link = 'javascript:globalThis.hit=3'

describe.runIf(canBrowse)('the console', () => {
  let stage: Stage
  let worker: Process
  beforeAll(async () => {
    stage = await Stage.open()
    worker = await stage.worker()
  }, 300_000)
  afterAll(() => stage?.close())

  test('M2 a viewer sees no button that would be refused, and the server refuses', async () => {
    await stage.begin('desk', 'watched', 'order-watched')
    const item = await stage.itemOf('order-watched')
    const page = await stage.signedIn('vic', 'viewer')
    await page.getByRole('link', { name: 'Charge watched?' }).click()
    await page.getByText('Your role is viewer').waitFor()
    expect(await page.getByRole('radio').count()).toBe(0)
    expect(await page.getByRole('textbox', { name: /comment/i }).count()).toBe(0)
    await page.goto(`${stage.url}/runs/order-watched`)
    await page.getByText('Graph and the path taken').waitFor()
    expect(await page.getByRole('group', { name: 'Actions' }).count()).toBe(0)
    await page.goto(`${stage.url}/workers`)
    await page.getByRole('heading', { name: 'Workers' }).waitFor()
    expect(await page.getByText('It is dead…').count()).toBe(0)

    const token = await stage.token('vic2', 'viewer')
    const body = { outcome: 'approve', reason: 'because', version: 1 }
    const byToken = await stage.api(`/v1/inbox/${item}/decision`, body, token)
    expect(byToken.status).toBe(403)
    // By the session too, with all that the page itself would send.
    const bySession = await page.evaluate(
      async ([id, said]) => {
        const who = await (await fetch('/v1/session')).json()
        const { csrf } = who as { csrf: string }
        const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf }
        const init = { method: 'POST', headers, body: JSON.stringify(said) }
        return (await fetch(`/v1/inbox/${id}/decision`, init)).status
      },
      [item, body] as const,
    )
    expect(bySession).toBe(403)
    await stage.until('order-watched', 'waiting_human')
  })

  test('E1, E6 a held call says why; whom it is for decides, others see no form', async () => {
    const page = await stage.signedIn('gus', 'operator')
    await stage.begin('desk', 'rich', 'order-rich')
    const first = await stage.itemOf('order-rich')
    const yes = { outcome: 'approve', reason: 'fine', version: 1 }
    await stage.api(`/v1/inbox/${first}/decision`, yes)
    await page.getByRole('link', { name: 'charge_card: may it be sent?' }).click()
    await page.getByText('more than 1000 EUR is for finance').waitFor()
    await page.getByText(/gus may not decide item .*: it is for cfo/).waitFor()
    expect(await page.getByRole('radio').count()).toBe(0)
    const cfo = await stage.signedIn('cfo', 'operator')
    await cfo.getByRole('link', { name: 'charge_card: may it be sent?' }).click()
    await cfo.getByRole('radio', { name: /^Approve/ }).check()
    await cfo.getByRole('button', { name: 'Approve', exact: true }).click()
    await stage.until('order-rich', 'completed')
  })

  test('E8 what a model writes stays text on every page', async () => {
    for (const [name, customer] of [
      ['evil', evil],
      ['refused', `refused ${evil}`],
      ['link', link],
    ] as const) {
      await stage.begin('desk', customer, `order-${name}`)
    }
    await stage.begin('desk', 'x', evil)
    const item = await stage.itemOf('order-evil')
    await stage.until('order-refused', 'failed')
    await stage.api(`/v1/inbox/${item}/comments`, { text: `a comment: ${evil}` })
    const page = await stage.signedIn(`zoe ${evil}`, 'operator')
    await page.getByText(`Charge ${evil}?`).first().waitFor()
    await expectOnlyText(page)
    await page.goto(`${stage.url}/inbox/${item}`)
    await page.getByText(`a comment: ${evil}`).waitFor()
    await expectOnlyText(page)
    await page.getByRole('button', { name: 'Raw JSON: what is to be approved' }).click()
    await expectOnlyText(page)
    await page.getByRole('radio', { name: /Edit and approve/ }).check()
    await expectOnlyText(page)
    for (const run of ['order-evil', 'order-refused', 'order-link', evil]) {
      for (const tab of ['', 'ledger', 'checkpoints', 'state', 'events', 'preview']) {
        await page.goto(`${stage.url}/runs/${encodeURIComponent(run)}?tab=${tab}`)
        await page.locator('.panel').first().waitFor()
        for (const summary of await page.locator('summary').all()) await summary.click()
        await expectOnlyText(page)
      }
    }
    for (const path of ['/runs', `/runs?q=${encodeURIComponent(evil)}`, '/tools', '/health']) {
      await page.goto(`${stage.url}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectOnlyText(page)
    }
    expect(stage.complaints).toEqual([])
    worker.child.kill('SIGTERM')
  })
})

/** Nothing of it has become an element, an address or a program. */
async function expectOnlyText(page: Page): Promise<void> {
  await page.waitForTimeout(50)
  const count = (selector: string) => page.locator(selector).count()
  const found = {
    hit: await page.evaluate('globalThis.hit ?? null'),
    elements: await count('img, iframe, object, embed, main script'),
    handlers: await count('[onerror], [onload], [onclick], [srcdoc]'),
    links: await count('a[href^="javascript:" i]'),
  }
  expect(found).toEqual({ hit: null, elements: 0, handlers: 0, links: 0 })
}
