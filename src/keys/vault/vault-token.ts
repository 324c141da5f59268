import { MemoryError, misconfigured } from '../../errors.ts';
import { readPrivateFile } from '../private-file.ts';
import { BY_ASKER } from '../root-key.ts';
import { vaultVariable } from './vault-environment.ts';

/** The source of the token of a Vault: one of the two, or the environment. */
export interface VaultTokenOptions {
  /** The token itself. */
  readonly token?: string | undefined;
  /** A file with the token, which its owner alone may read; read again when Vault refuses what it held. */
  readonly tokenFile?: string | undefined;
}

interface VaultTokens {
  /** Answers the token that is held, and reads it first where none is. */
  held(): string;
  /** Reads the token again, unless another call has; undefined where it is the refused one still. */
  renewed(refused: string): string | undefined;
}

const FILE_VARIABLE = 'VAULT_TOKEN_FILE';
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/**
 * Opens the source of tokens for one server. `VAULT_TOKEN` and `VAULT_TOKEN_FILE` are for the server that `VAULT_ADDR`
 * names, if it is set. `VAULT_TOKEN_FILE` may be a folder, with `/` at its end: the token of each server lies in the
 * file named like its host, with `_` and the port where the URL has one.
 */
export function openTokens({ token, tokenFile }: VaultTokenOptions, origin: string): VaultTokens {
  let last: string | undefined;

  function read(): string {
    const found = token ?? (tokenFile === undefined ? fromEnvironment() : fileOf(tokenFile, 'tokenFile'));
    // A request would fail with the token in the words of its error.
    if (!TOKEN.test(found))
      throw misconfigured('The token for Vault is empty, or has characters that none has.');
    return found;
  }

  function fromEnvironment(): string {
    const [text, file] = [vaultVariable('VAULT_TOKEN'), vaultVariable(FILE_VARIABLE)];
    const address = vaultVariable('VAULT_ADDR');
    if (text !== undefined && file !== undefined) {
      throw misconfigured('VAULT_TOKEN and VAULT_TOKEN_FILE are both set: unset one of them.');
    }
    if (file?.endsWith('/')) {
      const name = new URL(origin).host.replaceAll(':', '_');
      return fileOf(file + name, `${FILE_VARIABLE} for this server, ${name} in that folder,`);
    }
    if (address !== undefined && !(URL.canParse(address) && new URL(address).origin === origin)) {
      throw misconfigured(
        'The token of the environment is for the server that VAULT_ADDR names, and the root key is in another: unset VAULT_ADDR, or give each server a token of its own.',
      );
    }
    if (file !== undefined) return fileOf(file, FILE_VARIABLE, 'a folder with "/" at its end');
    if (text !== undefined) return text;
    throw new MemoryError(
      'access_denied',
      'No token for Vault was found: set VAULT_TOKEN, or VAULT_TOKEN_FILE to a file with one.',
      { details: { reason: BY_ASKER } },
    );
  }

  return {
    held() {
      last ??= read();
      return last;
    },
    renewed(refused) {
      if (last === refused) last = read();
      return last === refused ? undefined : last;
    },
  };
}

function fileOf(path: string, label: string, other?: string): string {
  return readPrivateFile(path, { label, kind: 'token file', remedy: 'have it written there', other });
}
