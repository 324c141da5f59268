import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the examples: one file for each, below the subpath of the entry point, named for the export it shows.
 */
export const EXAMPLES: string = fileURLToPath(new URL('../../examples/api/', import.meta.url));

/** Begins the first line of an example that is compiled and not run; the rest of the line says why. */
export const COMPILED_ONLY = '// Only compiled: ';

/** The entry points for frameworks, whose packages only the tests of hosts have at hand. */
const OF_HOSTS = /^(ai-sdk|claude-agent-sdk|langchain|mastra|openai-agents|unstorage)\//;

export interface Example {
  /** Its path below {@link EXAMPLES}. */
  readonly file: string;
  readonly text: string;
  /** The names that it imports, each behind the entry point's subpath and a space: `./keys RootKey`. */
  readonly uses: ReadonlySet<string>;
}

/** Reads all examples, by their files. */
export function readExamples(): readonly Example[] {
  if (!existsSync(EXAMPLES)) return [];
  return globSync('**/*.ts', { cwd: EXAMPLES })
    .sort()
    .map((file) => {
      const text = readFileSync(`${EXAMPLES}${file}`, 'utf8').trimEnd();
      return { file, text, uses: usesOf(text) };
    });
}

/** The file of the example that shows an export: `./keys`, `kmsRootKey` → `keys/kms-root-key.ts`. */
export function fileOf(subpath: string, name: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3-$2').replaceAll('_', '-');
  return `${subpath
    .replace(/^\.\/?/, '')
    .replace(/$|\/$/, '/')
    .replace(/^\//, '')}${words.toLowerCase()}.ts`;
}

function usesOf(text: string): ReadonlySet<string> {
  const imports = text.matchAll(/^import (?:type )?\{([^}]*)\} from 'sealed-memory(\/[\w-]+)?';$/gm);
  return new Set(
    [...imports].flatMap(([, inner = '', subpath = '']) =>
      [...inner.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)].map(([, name]) => `.${subpath} ${name}`),
    ),
  );
}

/** The files of the examples that are run: those for frameworks, or the others. */
export function runExamples(which: 'of hosts' | 'others'): readonly string[] {
  return readExamples()
    .filter(
      ({ file, text }) => OF_HOSTS.test(file) === (which === 'of hosts') && !text.startsWith(COMPILED_ONLY),
    )
    .map(({ file }) => file);
}
