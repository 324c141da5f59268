import { once } from '../../src/time.ts';

/** A client of the AWS SDK, as senders see it. */
interface Sender {
  send(...input: never[]): unknown;
}

/** Makes a client that is loaded and made at its first send. */
export function lazyClient<Client extends Sender>(open: () => Promise<Client>): Pick<Client, 'send'> {
  const opened = once(open);
  const send = async (...input: never[]): Promise<unknown> => (await opened()).send(...input);
  return { send } as Pick<Client, 'send'>;
}
