import { render } from 'preact';
import { App } from './app.tsx';
import { exchange } from './data/ask.ts';

/** The token of the address is exchanged for a cookie, and taken out of the address before anything else happens. */
async function start(): Promise<void> {
  const token = location.hash.slice(1);
  if (token !== '') {
    history.replaceState(null, '', '/');
    await exchange(token).catch(() => false);
  }
  const place = document.getElementById('page');
  if (place !== null) render(<App />, place);
}

void start();
