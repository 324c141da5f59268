#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `sealed-memory: needs Node.js 22.13 or newer, and this is ${process.versions.node}: install a newer one.\n`,
  );
  process.exitCode = 2;
} else {
  // Only now: on an older Node these modules fail while they are being loaded.
  import('./program/program.ts')
    .then(({ runProgram }) => runProgram(process.argv.slice(2)))
    .then((code) => {
      process.exitCode = code;
    });
}

export {};
