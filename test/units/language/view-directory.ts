import { createDirectoryView } from '../../../src/language/listing.ts';
import type { MemoryPath } from '../../../src/language/path.ts';

type Listing = ReturnType<typeof createDirectoryView>;

/** The view of a directory whose files are all known. */
export function viewDirectory({
  path,
  files,
  ...request
}: Parameters<Listing['reply']>[0] & {
  readonly path: MemoryPath;
  readonly files: Parameters<Listing['add']>[0];
}): string {
  const view = createDirectoryView(path);
  view.add(files);
  return view.reply(request);
}
