import { once } from '../../src/time.ts';

/** A client of the AWS SDK as those that send see it. */
interface Sender {
  send(...input: never[]): unknown;
}

/** A client that is loaded and made when something is sent through it first. */
export function lazyClient<Client extends Sender>(open: () => Promise<Client>): Pick<Client, 'send'> {
  const opened = once(open);
  const send = async (...input: never[]): Promise<unknown> => (await opened()).send(...input);
  return { send } as Pick<Client, 'send'>;
}
