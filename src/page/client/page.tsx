import { render } from 'preact';
import { App } from './app.tsx';
import { isToken, placeAt, START } from './data/address.ts';
import { exchange } from './data/ask.ts';

/** The token of the address is exchanged for a cookie, and taken out of the address before anything else happens. */
async function start(): Promise<void> {
  const { hash } = location;
  const token = hash.slice(1);
  if (isToken(hash)) {
    history.replaceState(null, '', '/');
    await exchange(token).catch(() => false);
  }
  const place = await placeAt(location.hash);
  if (place === undefined) history.replaceState(null, '', '/');
  const element = document.getElementById('page');
  if (element !== null) render(<App start={{ ...START, ...place }} />, element);
}

void start();
