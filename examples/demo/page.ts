import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '../../src/open/environment.ts';

/** What somebody may talk an agent into writing down. */
const PLANTED = `# A note from a stranger

<script>document.title = 'taken over'</script>
<img src="x" onerror="document.title = 'taken over'">
[Click here](javascript:alert(1)) ![pixel](https://tracker.example/pixel.png)
`;

/**
 * Plants a file with scripts in the memory, then shows the memory on the page of the command line until Ctrl-C. `args` go
 * to `sealed-memory open`. Resolves to the exit code.
 */
export async function showPage(
  args: readonly string[],
  { env, signal }: { readonly env: Environment; readonly signal: AbortSignal },
): Promise<number> {
  const run = async (words: readonly string[]): Promise<number> => {
    const child = spawn('npx', ['sealed-memory', ...words], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    const stop = (): unknown => child.kill();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const [code] = (await once(child, 'exit')) as [number | null];
    signal.removeEventListener('abort', stop);
    return code ?? 1;
  };
  const planted = await run(['put', '/memories/from-a-stranger.md', '--text', PLANTED]);
  return planted === 0 ? run(['open', ...args]) : planted;
}
