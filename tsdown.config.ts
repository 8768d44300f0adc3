import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: [
    ...['src/index.ts', 'src/testing/index.ts', 'src/cli/main.ts'],
    ...['langgraph', 'ai-sdk'].map((name) => `src/adapters/${name}/index.ts`),
    // A thread that workers start, and what it loads; nothing imports them.
    ...['src/worker/keeper-thread.ts', 'src/store/sqlite/renewer.ts'],
    'src/store/postgres/renewer.ts',
    // Processes that the demo starts; nothing imports them.
    ...['mail-server', 'plain-worker', 'worker', 'live/upstreams', 'live/worker'].map(
      (name) => `src/cli/demo/${name}.ts`,
    ),
    // Processes that chaos starts, and kills.
    ...['server', 'life'].map((name) => `src/cli/chaos/${name}.ts`),
  ],
  // One output file per source file: stack traces name the file, and .sql files keep their place.
  unbundle: true,
  dts: true,
  platform: 'node',
  fixedExtension: false,
  target: 'node20.19',
  outDir: 'dist',
  copy: ['sqlite', 'postgres'].map((store) => ({
    from: `src/store/${store}/migrations`,
    to: `dist/store/${store}`,
  })),
})
