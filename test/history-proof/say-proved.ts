/**
 * Says, alone on a line, how often something was tried: `npm run prove history` reads it. Elsewhere it says nothing.
 */
export function sayProved(sentence: string): void {
  if (process.env['HISTORY_PROOF'] === '1') console.log(`\n${sentence}\n`);
}
