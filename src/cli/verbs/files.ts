import { MemoryError } from '../../errors.ts';
import { parseMemoryPath } from '../../language/path.ts';
import { openMemory, openTenant } from '../../open/open-memory.ts';
import type { Invocation } from './invocation.ts';
import { readMemoryOptions } from './settings.ts';
import { readSource, type SourceOptions } from './source.ts';

/** The bytes go out as they are, whatever they are; in JSON they stand as text or base64. */
export async function runCat(path: string, invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  await using memory = await openMemory(readMemoryOptions(invocation));
  const bytes = await memory.files.read(path, { signal });
  if (bytes === undefined) throw new MemoryError('not_found', `There is no file at ${path}.`);
  await terminal.out(bytes);
  return 0;
}

export async function runPut(path: string, source: SourceOptions, invocation: Invocation): Promise<number> {
  const { terminal, report, signal } = invocation;
  const options = readMemoryOptions(invocation);
  const content = await readSource(source, { terminal, options });
  const { parts, close } = await openTenant(options);
  await using _memory = parts.openMemory(close);
  await parts.tree.overwrite(parseMemoryPath(path), content, { signal });
  await report.done({ path, bytes: content.length });
  return 0;
}
