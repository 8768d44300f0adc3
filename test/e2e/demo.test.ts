// The live demo as a newcomer meets it: the page, the button, a doubt decided in the console.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { start } from '../cli/harness.ts'
import { canBrowse, launch, screenshotPath } from './browser.ts'

test.runIf(canBrowse)(
  'N6 the plug is pulled on the demo page: two orders beside one, decided in the console',
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'counterfoil-demo-page-'))
    const demo = start(['demo', '--data', join(folder, 'data'), '--json'])
    const browser = await launch()
    onTestFinished(async () => {
      await browser.close()
      demo.child.kill('SIGTERM')
      await demo.ended
      rmSync(folder, { recursive: true, force: true })
    })
    const { entry_url: entry } = JSON.parse((await demo.says('"entry_url"')).split('\n')[0] ?? '')
    const page = await browser.newPage({ viewport: { width: 1280, height: 1400 } })
    page.setDefaultTimeout(60_000)
    await page.goto(entry)
    await page.getByRole('link', { name: 'Demo' }).click()
    await page.getByRole('button', { name: 'Pull the plug on both' }).click()
    const side = (name: string) => page.getByRole('region', { name })
    const plain = side('LangGraph, its own saver')
    const guarded = side('The same graph file, with Counterfoil')
    await plain.getByText('2 orders, $168,000').waitFor()
    await guarded.getByRole('link', { name: /^Decide: place_order/ }).waitFor()
    await page.screenshot({ path: screenshotPath('demo-plug') })

    await guarded.getByRole('link', { name: /^Decide: place_order/ }).click()
    await page.getByRole('radio', { name: /It happened/ }).check()
    await page.getByLabel(/^Reason/).fill('PO-1 is in the book of the vendor')
    await page.getByLabel(/^Its result/).fill('{"order":"PO-1"}')
    await page.getByRole('button', { name: 'It happened' }).click()
    await page.getByText('It is decided.').waitFor()

    await page.getByRole('link', { name: 'Demo' }).click()
    await guarded.getByText('the agent says: Ordered: PO-1.').waitFor()
    await guarded.getByText('done').waitFor()
    expect(await guarded.getByText('1 order, $84,000').count()).toBe(1)
    expect(await guarded.getByText('done').count()).toBe(1)
  },
)
