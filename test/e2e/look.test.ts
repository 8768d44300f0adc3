// Every page in light, dark and at the width of a phone: kept as pictures, and judged by axe.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canBrowse, screenshotPath } from './browser.ts'
import { phone, sticksOut, violations } from './judge.ts'
import { Stage } from './stage.ts'

describe.runIf(canBrowse)('the console', () => {
  let stage: Stage
  let places: [name: string, path: string, ready: string][] = []

  beforeAll(async () => {
    stage = await Stage.open()
    const killed = await stage.worker()
    await stage.begin('desk', 'slow-bolt', 'order-bolt')
    await stage.begin('drifter', 'acme', 'letters-acme')
    await killed.says('sent to slow-bolt')
    await killed.says('sent to slow acme')
    killed.child.kill('SIGKILL')
    expect(await killed.ended).toBe('SIGKILL')
    await stage.worker({ E2E_DRIFT: 'second' })
    for (const name of ['acme', 'late-cargo', 'rich-delta', 'echo', 'refused-fox']) {
      await stage.begin('desk', name, `order-${name}`)
    }
    const yes = { outcome: 'approve', reason: 'as agreed', version: 1 }
    for (const run of ['order-rich-delta', 'order-echo']) {
      await stage.api(`/v1/inbox/${await stage.itemOf(run)}/decision`, yes)
    }
    await stage.until('order-echo', 'completed')
    await stage.until('order-refused-fox', 'failed')
    const doubt = await stage.itemOf('order-bolt')
    const text = 'The mail provider has a ticket open; I look at their log every ten minutes.'
    await stage.api(`/v1/inbox/${doubt}/comments`, { text })
    places = [
      ['inbox', '/', 'Charge acme?'],
      ['doubt', `/inbox/${doubt}`, 'Worker found dead'],
      ['drift', `/inbox/${await stage.itemOf('letters-acme')}`, 'asked for now'],
      ['approval', `/inbox/${await stage.itemOf('order-acme')}`, 'boxes'],
      ['held', `/inbox/${await stage.itemOf('order-rich-delta')}`, 'is for finance'],
      ['runs', '/runs', 'order-echo'],
      ['run', '/runs/order-bolt', 'send_email'],
      ['run-completed', '/runs/order-echo', 'charge_card'],
      ['ledger', '/runs/order-echo?tab=ledger', 'charge_card'],
      ['checkpoints', '/runs/order-echo?tab=checkpoints', 'What changed between two'],
      ['state', '/runs/order-echo?tab=state', 'messageId'],
      ['events', '/runs/order-bolt?tab=events', 'taken over'],
      ['preview', '/runs/order-bolt?tab=preview', 'answered from the ledger'],
      ['tools', '/tools', 'send_email'],
      ['versions', '/versions', 'desk@1.0.0'],
      ['workers', '/workers?all=true', 'nobody listens'],
      ['health', '/health', 'Oldest doubt'],
      ['resume', '/resume', 'Is it safe to send once more?'],
      ['empty', '/runs?q=nothing-like-it', 'No run is like that.'],
    ]
  }, 240_000)
  afterAll(() => stage?.close())

  // Copied to docs/images when a page has changed; small, because everybody clones them.
  test('E8 the pictures of the operator’s guide are below 150 KB each', async () => {
    const wide = await stage.signedIn('ana', 'operator', { viewport: { width: 1120, height: 720 } })
    const small = await stage.signedIn('ana', 'operator', { viewport: phone, colorScheme: 'dark' })
    const shown = ['inbox', 'doubt', 'approval', 'run', 'resume', 'phone']
    for (const name of shown) {
      const page = name === 'phone' ? small : wide
      const wanted = name === 'phone' ? 'inbox' : name
      const [, path = '', ready = ''] = places.find(([place]) => place === wanted) ?? []
      await page.goto(`${stage.url}${path}`)
      await page.getByText(ready).filter({ visible: true }).first().waitFor()
      if (name === 'approval') await page.getByRole('radio', { name: /Edit and approve/ }).check()
      await page.waitForTimeout(300)
      const picture = await page.screenshot({ path: screenshotPath(`guide-${name}`) })
      expect(picture.length).toBeLessThan(150_000)
    }
  })

  test.each([
    ['light', {}],
    ['dark', {}],
    ['light', { viewport: phone, hasTouch: true }],
    ['dark', { viewport: phone, hasTouch: true }],
  ] as const)(
    'E8 axe finds nothing serious on any page: %s %j',
    async (colorScheme, options) => {
      const page = await stage.signedIn('ana', 'operator', { colorScheme, ...options })
      const size = 'viewport' in options ? 'phone' : 'wide'
      const found: string[] = []
      for (const [name, path, ready] of size === 'wide' ? places : places.slice(0, 8)) {
        await page.goto(`${stage.url}${path}`)
        await page.getByText(ready).filter({ visible: true }).first().waitFor()
        await page.waitForTimeout(150)
        await page.screenshot({
          path: screenshotPath(`${name}-${colorScheme}-${size}`),
          fullPage: true,
        })
        found.push(...(await violations(page)).map((what) => `${name}: ${what}`))
        const wide = await sticksOut(page)
        if (wide > 0) found.push(`${name}: ${wide} pixels stick out to the right`)
      }
      expect(found).toEqual([])
    },
    300_000,
  )

  test('E8 axe finds nothing serious in forms, dialogs, and on the page to sign in', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const stranger = await stage.page({ colorScheme })
      await stranger.goto(stage.url)
      await stranger.getByLabel('Token').waitFor()
      await stranger.screenshot({ path: screenshotPath(`sign-in-${colorScheme}-wide`) })
      expect(await violations(stranger)).toEqual([])

      const page = await stage.signedIn('ana', 'operator', { colorScheme })
      await page.goto(`${stage.url}/inbox/${await stage.itemOf('order-bolt')}`)
      for (const outcome of [/It happened/, /It did not happen/]) {
        await page.getByRole('radio', { name: outcome }).check()
        expect(await violations(page)).toEqual([])
      }
      await page.screenshot({ path: screenshotPath(`decide-${colorScheme}-wide`), fullPage: true })
      await page.goto(`${stage.url}/inbox/${await stage.itemOf('order-acme')}`)
      await page.getByRole('radio', { name: /Edit and approve/ }).check()
      await page.screenshot({ path: screenshotPath(`edit-${colorScheme}-wide`), fullPage: true })
      expect(await violations(page)).toEqual([])
      await page.goto(`${stage.url}/runs/order-refused-fox`)
      await page.getByRole('button', { name: 'Retry' }).click()
      await page.getByText('What becomes of send_email#0').waitFor()
      await page.screenshot({ path: screenshotPath(`retry-${colorScheme}-wide`) })
      expect(await violations(page)).toEqual([])
    }
  }, 240_000)

  test('E8 the theme can be chosen, and stays', async () => {
    const page = await stage.signedIn('ana', 'operator', { colorScheme: 'light' })
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    expect(await ground()).not.toBe(light)
    await page.reload()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    expect(await ground()).not.toBe(light)
  })

  test('O7 the explainer answers with the verdict of the engine', async () => {
    const page = await stage.signedIn('ana', 'operator')
    await page.goto(`${stage.url}/resume`)
    const said = page.getByRole('status').filter({ hasText: /Nothing is sent|sent once more/ })
    await page.getByText('Nothing is sent. A person is asked.').waitFor()
    await page.getByLabel('Replay class').selectOption('idempotent_with_key')
    await page.getByText('It is sent once more with the recorded key').waitFor()
    await page.getByLabel('Its key').selectOption('closed')
    await page.getByText('Nothing is sent. A person is asked.').waitFor()
    expect(await said.count()).toBe(1)
  })

  test('no page has reported an error or a refusal of the content security policy', () => {
    expect(stage.complaints).toEqual([])
  })
})
