import { type NamedProgram, runNamed } from './runner/named-programs.ts';

/** Files that are made of others; a test holds each to its source. */
export const WRITTEN: Readonly<Record<string, NamedProgram>> = {
  api: write('node test/api-reference/main.ts', 'docs/api, from the types'),
  iam: write('node infra/iam-documents.ts', 'the policies in docs/iam, from the template'),
  pictures: write(
    `node infra/bundle-cli.ts && node examples/demo/main.ts | node examples/demo/picture.ts > docs/demo.svg \\
     && node test/units/page/browser/pictures.ts`,
    'docs/demo.svg, docs/page.webp, docs/page-dark.webp and docs/page-unseen.webp',
  ),
  rooms: write(
    'node test/layering/page.ts',
    'the tables of docs/architecture.md, from test/layering/rooms.ts',
  ),
  sizes: write('npm run build && node bench/sizes.ts', 'bench/sizes.json, from a build'),
  testkit: write(
    'TESTKIT_RECORD=1 vitest run --project unit test/units/tool/memory-tool.library.test.ts',
    'test/testkit/commands.jsonl, from what the suite asks',
  ),
  transcripts: write(
    'TRANSCRIPTS_FILL=1 vitest run --project unit test/commands',
    'the answers in test/commands that a ? stands for; one that stands there is never changed',
  ),
};

function write(line: string, gives: string): NamedProgram {
  return { command: ['sh', '-ec', line], gives };
}

if (import.meta.main) await runNamed('write', WRITTEN, process.argv.slice(2));
