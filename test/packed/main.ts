import manifest from '../../package.json' with { type: 'json' };
import { filesOf, missingFrom, scriptsAtTheUsers } from './packed-files.ts';

// npm run prove package: what `npm publish` would send of what is built here. Fails where a file is missing that
// package.json names, or where npm would run a script at the user's. It asks for no login.

const paths = filesOf('publish');
const missing = missingFrom(paths);
const scripts = scriptsAtTheUsers(manifest.scripts);
console.log(`${manifest.name} ${manifest.version}: ${paths.length} files would be published`);
for (const path of missing) console.error(`${path} is missing: run "npm run build", or mend package.json`);
for (const name of scripts)
  console.error(`npm would run the script "${name}" where the package is installed`);
if (missing.length > 0 || scripts.length > 0) process.exitCode = 1;
