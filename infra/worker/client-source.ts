/**
 * Makes a source of clients whose key may be replaced while the process lives. It reads the key once, and again after a
 * failure. When the API has refused the client, it reads the key once more: another key makes another client, which all
 * further calls get.
 */
export function createClientSource<Client extends object>({
  readKey,
  open,
}: {
  /** Reads the key; undefined: the client finds a key by itself. */
  readonly readKey: () => Promise<string | undefined>;
  readonly open: (apiKey: string | undefined) => Client;
}): (refused?: object) => Promise<Client> {
  interface Opened {
    readonly key: string | undefined;
    readonly client: Client;
  }
  let current: Promise<Opened> | undefined;
  const renew = async (former?: Opened): Promise<Opened> => {
    const key = await readKey();
    return former !== undefined && former.key === key ? former : { key, client: open(key) };
  };
  const keep = (opening: Promise<Opened>): Promise<Opened> => {
    current = opening;
    opening.catch(() => {
      if (current === opening) current = undefined;
    });
    return opening;
  };
  return async (refused) => {
    const opened = await (current ?? keep(renew()));
    if (refused === undefined || opened.client !== refused) return opened.client;
    return (await keep(renew(opened))).client;
  };
}
