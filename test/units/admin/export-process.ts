import { exportTree } from '../../../src/admin/export/export-tree.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import { openFolderObjectStore } from '../../../src/store/folder.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

// node export-process.ts FROM TO GETS: exports the tenant of the environment from a folder of raw objects, and kills
// itself when it has read so many of them.

const [from = '', to = '', gets = ''] = process.argv.slice(2);
let got = 0;
const store = interceptStore(openFolderObjectStore({ path: from }), async (call, proceed) => {
  const answer = await proceed();
  if (call.verb === 'get' && ++got === Number(gets)) process.kill(process.pid, 'SIGKILL');
  return answer;
});
// One after the other: what is read before the end has been written.
const { parts } = await openTenant(optionsFromEnvironment(undefined, { store, concurrency: 1 }));
await exportTree(parts.context, { to });
