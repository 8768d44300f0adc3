// Opens a store and closes it: one of many processes that come at once.
import { open } from '../../dist/index.js'

const [url = '', key = ''] = process.argv.slice(2)
const cf = await open({ store: url, key })
await cf.close()
process.stdout.write('opened\n')
