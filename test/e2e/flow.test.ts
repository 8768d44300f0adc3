// What operators do in the console, in a real browser against a real server and real workers.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { canBrowse } from './browser.ts'
import { Stage } from './stage.ts'

describe.runIf(canBrowse)('the console', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open()
  }, 300_000)
  afterEach(() => stage.dismiss())
  afterAll(() => stage?.close())

  test('M2 the printed address signs in without a step in between, and only once', async () => {
    const page = await stage.page()
    await page.goto(stage.entryUrl)
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.getByText('Nothing waits for you.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    await page.reload()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    const other = await stage.page()
    const answer = await other.goto(stage.entryUrl)
    expect(answer?.status()).toBe(401)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
  })

  test('M2 a wrong token is refused, and says so', async () => {
    const page = await stage.page()
    await page.goto(stage.url)
    await page.getByLabel('Token').fill('cf_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await page.getByRole('alert').innerText()).toMatch(/token/i)
  })

  test('E1, E8 an approval is edited to fit its schema, approved; the run goes on', async () => {
    await stage.worker()
    await stage.begin('desk', 'acme', 'order-acme')
    const page = await stage.signedIn('ana', 'operator')
    await page.getByRole('link', { name: 'Charge acme?' }).click()
    await page.getByText('boxes').waitFor()
    await page.getByRole('radio', { name: /Edit and approve/ }).check()
    await page.getByLabel('amount').fill('0')
    await page.getByText('amount must be at least 1').waitFor()
    const button = page.getByRole('button', { name: 'Edit and approve' })
    await page.getByLabel(/^Reason/).fill('half of it will do')
    expect(await button.isDisabled()).toBe(true)
    await page.getByLabel('amount').fill('20')
    await button.click()
    await page.getByText('It is decided.').waitFor()
    await stage.until('order-acme', 'completed')
    await page.getByRole('link', { name: 'order-acme' }).first().click()
    await page.getByText('ch-order-acme').first().waitFor()
    const run = await (await stage.api('/v1/runs/order-acme')).json()
    expect(run).toMatchObject({ output: { amount: 20 } })
    const { items } = (await (await stage.api('/v1/runs/order-acme/decisions')).json()) as never
    expect(items).toMatchObject([{ outcome: 'edit', by: 'ana', reason: 'half of it will do' }])
  })

  test('C2, E2, I5 a doubt of a killed worker: locked, decided, the run ends live', async () => {
    const killed = await stage.worker()
    await stage.begin('desk', 'slow-bolt', 'order-bolt')
    await killed.says('sent to slow-bolt')
    killed.child.kill('SIGKILL')
    expect(await killed.ended).toBe('SIGKILL')

    const page = await stage.signedIn('bo', 'operator')
    await page.goto(`${stage.url}/runs/order-bolt`)
    await page.getByText('running', { exact: true }).first().waitFor()
    // Nobody reloads this page: what happens from here on comes by itself.
    await stage.worker()
    await page.getByText('waiting human', { exact: true }).first().waitFor()
    await page.getByRole('link', { name: /^item_/ }).click()

    await page.getByText('Worker found dead').waitFor()
    await page.getByText('Resumed by another worker').waitFor()
    await page.getByText('said unknown').waitFor()
    await page.getByText(/quiet time runs for/).waitFor()
    await page.getByRole('radio', { name: /It did not happen/ }).check()
    await page.getByLabel(/^Reason/).fill('not in the log')
    const deny = page.getByRole('button', { name: 'It did not happen' })
    expect(await deny.isDisabled()).toBe(true)

    await page.getByRole('radio', { name: /It happened/ }).check()
    await page.getByLabel(/^Reason/).fill('m-1 is in the log of the mail server')
    const affirm = page.getByRole('button', { name: 'It happened' })
    expect(await affirm.isDisabled()).toBe(true)
    const wrong = { outcome: 'happened', result: { messageId: 7 }, reason: 'a slip', version: 1 }
    const doubt = await stage.itemOf('order-bolt')
    const refused = await stage.api(`/v1/inbox/${doubt}/decision`, wrong)
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringMatching(/messageId/),
    ])
    // The tool says what its result looks like, so there is a field for it.
    await page.getByRole('group', { name: 'Its result' }).getByRole('textbox').fill('m-1')
    await affirm.click()
    await page.getByText('It is decided.').waitFor()

    await page.getByRole('link', { name: 'order-bolt' }).first().click()
    await page.getByText('waiting human', { exact: true }).first().waitFor()
    const approval = await stage.itemOf('order-bolt')
    const yes = { outcome: 'approve', reason: 'as agreed', version: 1 }
    expect((await stage.api(`/v1/inbox/${approval}/decision`, yes)).status).toBe(201)
    await page.getByText('completed', { exact: true }).first().waitFor()
    expect(stage.sent().filter((to) => to === 'slow-bolt')).toHaveLength(1)
  })

  test('E8 many alike items are decided at once, from the keyboard alone', async () => {
    await stage.worker()
    for (const name of ['k1', 'k2', 'k3']) await stage.begin('desk', 'regular', `order-${name}`)
    for (const name of ['k1', 'k2', 'k3']) await stage.until(`order-${name}`, 'waiting_human')
    const page = await stage.signedIn('eve', 'operator')
    await page.getByRole('link', { name: 'order-k3' }).waitFor()
    const { keyboard } = page
    await keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    for (let i = 0; i < 3; i++) {
      await keyboard.press('j')
      await keyboard.press('x')
    }
    await page.getByText('3 items chosen').waitFor()
    await page.getByLabel('Reason, kept on record with each').focus()
    await keyboard.type('all of them are regular customers')
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    await page.getByText('Nothing waits for you.').waitFor()
    for (const name of ['k1', 'k2', 'k3']) await stage.until(`order-${name}`, 'completed')
    await keyboard.press('g')
    await keyboard.press('r')
    await page.getByRole('link', { name: 'order-k3' }).waitFor()
    await keyboard.press('j')
    await keyboard.press('Enter')
    await page.getByText('Graph and the path taken').waitFor()
  })

  test('D4 a run is paused, resumed and cancelled in the console', async () => {
    await stage.begin('desk', 'stopped', 'order-stopped')
    const page = await stage.signedIn('finn', 'operator')
    await page.goto(`${stage.url}/runs/order-stopped`)
    for (const [action, state] of [
      ['Pause', 'paused'],
      ['Resume', 'pending'],
      ['Cancel', 'cancelled'],
    ] as const) {
      await page.getByRole('button', { name: action, exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel(/^Reason/).fill('for the test')
      await dialog.getByRole('button', { name: action, exact: true }).click()
      await page.getByText(state, { exact: true }).first().waitFor()
    }
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
  })

  test('no page has reported an error or a refusal of the content security policy', () => {
    expect(stage.complaints).toEqual([])
  })
})
