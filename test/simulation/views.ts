/** The content of a reply to `view`. */
export type Shown =
  | { readonly kind: 'file'; readonly text: string }
  /** Sizes of files in bytes, by path. */
  | { readonly kind: 'directory'; readonly sizes: ReadonlyMap<string, number> };

/** Reads a reply of the memory tool back; simulated files are too small to be cut or rounded. */
export function readView(content: string): Shown {
  const [header = '', ...lines] = content.split('\n');
  if (header.startsWith("Here's the content of ")) {
    return { kind: 'file', text: lines.map((line) => line.slice(line.indexOf('\t') + 1)).join('\n') };
  }
  if (!header.startsWith("Here're the files and directories ")) throw new Error(`not a view: ${header}`);
  const rows = lines.map((line) => line.split('\t')).filter(([, path = '/']) => !path.endsWith('/'));
  // The first row is the directory itself.
  return {
    kind: 'directory',
    sizes: new Map(rows.slice(1).map(([size = '', path = '']) => [path, Number.parseInt(size, 10)])),
  };
}
