// People who decide: what they are shown first, what they are told afterwards, and what becomes of
// two of them at once. One server; one worker that was killed in the middle of four calls.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canBrowse, screenshotPath } from './browser.ts'
import { phone, sticksOut, violations } from './judge.ts'
import { Stage } from './stage.ts'

/** Serious violations, and what sticks out of the page. */
async function faultsOf(page: Page, name: string): Promise<string[]> {
  await page.screenshot({ path: screenshotPath(name), fullPage: true })
  const wide = await sticksOut(page)
  return [...(await violations(page)), ...(wide > 0 ? [`${wide} pixels stick out`] : [])]
}

describe.runIf(canBrowse)('the console', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open()
    const killed = await stage.worker()
    for (const name of ['bolt', 'bird', 'twin']) {
      await stage.begin('desk', `slow-${name}`, `order-${name}`)
    }
    await stage.begin('rota', 'ann', 'rota-ann')
    await stage.begin('drifter', 'acme', 'letters-acme')
    const sent = [
      'sent to slow-bolt',
      'sent to slow-bird',
      'sent to slow-twin',
      'sent to slow acme',
    ]
    for (const words of [...sent, 'paged ann']) await killed.says(words)
    killed.child.kill('SIGKILL')
    expect(await killed.ended).toBe('SIGKILL')
    await stage.worker({ E2E_DRIFT: 'second' })
  }, 300_000)
  afterAll(() => stage?.close())

  const at = async (page: Page, run: string) => {
    await page.goto(`${stage.url}/inbox/${await stage.itemOf(run)}`)
    await page.getByRole('radio').first().waitFor()
  }

  test('A10 where to look comes first on a doubt, and only http(s) becomes a link', async () => {
    const wide = await stage.signedIn('ana', 'operator')
    const small = await stage.signedIn('ana', 'operator', { viewport: phone, colorScheme: 'dark' })
    for (const [name, page] of Object.entries({ wide, small })) {
      await at(page, 'order-bolt')
      const first = page.locator('.item-parts > .body > *').first()
      expect(await first.innerText()).toContain('Look here first. Search the log')
      const link = first.getByRole('link')
      expect(await link.getAttribute('href')).toBe('https://mail.example/log?to=slow-bolt')
      expect(await link.getAttribute('rel')).toContain('noopener')
      const top = async (of: ReturnType<Page['locator']>) => (await of.boundingBox())?.y ?? 0
      expect(await top(first)).toBeLessThanOrEqual(await top(page.locator('.side')))
      expect(await faultsOf(page, `look-${name}`)).toEqual([])

      await at(page, 'rota-ann')
      const words = await page.locator('.item-parts > .body > *').first().innerText()
      expect(words).toContain('Ask ann whether the pager rang.')
      expect(words).toContain('not an http or https address')
      expect(await page.locator('.item-parts .body a').count()).toBe(0)
    }
  })

  test('E2 "it happened" without a result, of a tool without one; then the next', async () => {
    const page = await stage.signedIn('bo', 'operator')
    await at(page, 'rota-ann')
    await page.getByRole('radio', { name: /It happened/ }).check()
    await page.getByLabel(/^Reason/).fill('ann says that it rang')
    const button = page.getByRole('button', { name: 'It happened' })
    expect(await button.isDisabled()).toBe(true)
    await page.getByRole('checkbox', { name: /The result is not known/ }).check()
    expect(await page.getByLabel(/^Its result/).count()).toBe(0)
    expect(await faultsOf(page, 'result-unknown')).toEqual([])
    await button.click()
    const panel = page.getByRole('region', { name: 'Decided' })
    await panel.getByText('It is decided. It happened, by bo').waitFor()
    await panel.getByText('ann says that it rang').waitFor()
    await panel.getByText('The run has completed.').waitFor()
    expect(await faultsOf(page, 'decided')).toEqual([])
    await panel.locator('.next').getByRole('link').click()
    await page.getByRole('radio').first().waitFor()
    expect(await page.getByRole('region', { name: 'Decided' }).count()).toBe(0)
  })

  test('E2, A10 the result is a form with an example; the timeline marks who decided', async () => {
    const page = await stage.signedIn('cara', 'operator')
    await at(page, 'order-bolt')
    await page.getByRole('radio', { name: /It happened/ }).check()
    await page.getByText('for example m-1207').waitFor()
    // Where the tool's output has a schema, nobody may leave the result out.
    expect(await page.getByRole('checkbox', { name: /not known/ }).count()).toBe(0)
    expect(await page.getByText('messageId is missing').count()).toBe(0)
    await page.getByRole('textbox', { name: 'messageId' }).fill('m-7')
    await page.getByLabel(/^Reason/).fill('m-7 is in the log')
    await page.getByRole('button', { name: 'It happened' }).click()
    const panel = page.getByRole('region', { name: 'Decided' })
    await panel.getByText('The run waits for a person again.').waitFor()
    await panel.getByText('Next, in the same run').waitFor()
    await panel.getByRole('link', { name: 'Charge slow-bolt?' }).waitFor()
    await panel.getByRole('link', { name: 'Open run order-bolt' }).click()
    const call = page.locator('.calls > li').filter({ hasText: 'send_email' })
    await call.getByText(/cara decided "happened": m-7 is in the log/).waitFor()
    const marks = await call.locator('.marks li').allInnerTexts()
    expect(
      marks.map((text) => text.replace(/w_\w+/, 'w').replace(/ \S+ \S+ ago| now$/, '')),
    ).toEqual([
      'Its worker w died',
      'Put before a person',
      'cara decided "happened": m-7 is in the log',
    ])
    expect(await call.locator('.badge').first().innerText()).toBe('decided')
    await page.setViewportSize(phone)
    expect(await faultsOf(page, 'marks-phone')).toEqual([])
  })

  test('E2 another decides while one writes: told who, and the text stays', async () => {
    const [dan, eve] = [
      await stage.signedIn('dan', 'operator'),
      await stage.signedIn('eve', 'operator', { viewport: phone }),
    ]
    const text = 'I am still on the phone with the mail provider'
    await at(eve, 'order-bird')
    await eve.getByRole('radio', { name: /It happened/ }).check()
    await eve.getByRole('textbox', { name: 'messageId' }).fill('m-eve')
    await eve.getByLabel(/^Reason/).fill(text)
    await at(dan, 'order-bird')
    await dan.getByRole('radio', { name: /It happened/ }).check()
    await dan.getByRole('textbox', { name: 'messageId' }).fill('m-dan')
    await dan.getByLabel(/^Reason/).fill('it is in the log')
    await dan.getByRole('button', { name: 'It happened' }).click()
    // Nobody reloads this page.
    const told = eve.getByRole('alert').filter({ hasText: 'dan decided while you were writing.' })
    await told.getByText('Your decision was not recorded').waitFor()
    expect(await eve.getByLabel(/^Reason/).inputValue()).toBe(text)
    expect(await eve.getByRole('textbox', { name: 'messageId' }).inputValue()).toBe('m-eve')
    expect(await eve.getByRole('button', { name: 'It happened' }).isDisabled()).toBe(true)
    expect(await faultsOf(eve, 'other-decided')).toEqual([])
    await dan.getByText('It is decided. It happened, by dan').waitFor()
    expect(await dan.getByText('while you were writing').count()).toBe(0)
  })

  test('E2 two clicks at once: one wins, the other is told and keeps the text', async () => {
    const names = ['fay', 'gil']
    const pages = await Promise.all(names.map((name) => stage.signedIn(name, 'operator')))
    for (const [index, page] of pages.entries()) {
      await at(page, 'order-twin')
      await page.getByRole('radio', { name: /It happened/ }).check()
      await page.getByRole('textbox', { name: 'messageId' }).fill(`m-${names[index]}`)
      await page.getByLabel(/^Reason/).fill(`words of ${names[index]}`)
    }
    await stage.together(pages, '**/decision')
    const answers = pages.map((page) =>
      page.waitForResponse((response) => response.url().endsWith('/decision')),
    )
    await Promise.all(
      pages.map((page) => page.getByRole('button', { name: 'It happened' }).click()),
    )
    const codes = (await Promise.all(answers)).map((answer) => answer.status())
    expect([...codes].sort()).toEqual([201, 409])
    const winner = names[codes.indexOf(201)]
    const loser = pages[codes.indexOf(409)]
    await loser?.getByText(`${winner} decided while you were writing.`).waitFor()
    const kept = `words of ${names[codes.indexOf(409)]}`
    expect(await loser?.getByLabel(/^Reason/).inputValue()).toBe(kept)
    const said = await (await stage.api('/v1/runs/order-twin/decisions')).json()
    expect(said).toMatchObject({ items: [{ outcome: 'happened', by: winner }] })
    expect(stage.sent().filter((to) => to === 'slow-twin')).toHaveLength(1)
  })

  test('C3, A10 drift says which call was sent, and offers only records of its tool', async () => {
    const page = await stage.signedIn('hal', 'operator')
    await at(page, 'letters-acme')
    const part = page.getByRole('region', { name: 'Is it the same call?' })
    const words = await part.innerText()
    expect(words).toContain('This call of send_email was not sent.')
    expect(words).toContain('2 earlier calls were sent and answered.')
    expect(words).toContain('One earlier call was sent, and nobody knows how it ended.')
    expect(words).toContain('it happens twice: the same mail arrives twice')
    expect(words).toContain('a time or a random value in the input')
    expect(words).toContain('It cannot answer this call: it is not a call of send_email.')
    expect(await part.getByRole('link').first().getAttribute('href')).toContain('first%20of%20acme')
    await page.getByRole('radio', { name: /Use this record/ }).check()
    const offered = await page.getByLabel('Which record').locator('option').allInnerTexts()
    expect(offered).toEqual([
      'Record 1: send_email was sent and answered',
      'Record 3: send_email was sent; nobody knows how it ended',
    ])
    expect(await faultsOf(page, 'drift-form')).toEqual([])
    await page.setViewportSize(phone)
    expect(await faultsOf(page, 'drift-form-phone')).toEqual([])
    await page.getByLabel(/^Reason/).fill('the same letter, with another word in it')
    await page.getByRole('button', { name: 'Use this record' }).click()
    await page.getByText('It is decided. Use this record, by hal').waitFor()
    expect(stage.sent().filter((to) => to.endsWith('of acme'))).toEqual(['first of acme'])
  })

  test('E8 many are alike by kind, queue, node and tool, whatever their titles', async () => {
    for (const name of ['acme', 'cargo', 'vip-acme']) {
      await stage.begin('desk', name, `alike-${name}`)
    }
    for (const name of ['acme', 'cargo', 'vip-acme']) await stage.itemOf(`alike-${name}`)
    const page = await stage.signedIn('ida', 'operator')
    const choose = (run: string) =>
      page.getByRole('row').filter({ hasText: run }).getByRole('checkbox').check()
    await choose('alike-acme')
    await choose('alike-vip-acme')
    await page.getByText('They differ in queue, so one decision').waitFor()
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
    await page.getByRole('button', { name: 'Choose none' }).click()
    await choose('alike-acme')
    await choose('alike-cargo')
    const bulk = page.getByRole('region', { name: 'Decide the chosen items' })
    expect(await bulk.locator('.titles li').allInnerTexts()).toEqual([
      ...['Charge acme?', 'Charge cargo?'],
    ])
    await bulk.getByLabel(/^Reason/).fill('both are regular customers')
    expect(await faultsOf(page, 'bulk')).toEqual([])
    await bulk.getByRole('button', { name: 'Approve (all 2)' }).click()
    await stage.until('alike-acme', 'completed')
    await stage.until('alike-cargo', 'completed')
    await stage.until('alike-vip-acme', 'waiting_human')
  })

  test('no page has reported an error or a refusal of the content security policy', () => {
    expect(stage.complaints).toEqual([])
  })
})
