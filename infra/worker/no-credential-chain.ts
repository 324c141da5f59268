// A stub in the bundle for the Anthropic SDK's search for credentials in files: a function has a key from its secret.

/** Answers that there are none. */
export function defaultCredentials(): null {
  return null;
}

/** Refuses a configuration with a login in it, which no function gives. */
export function resolveCredentialsFromConfig(): never {
  throw new Error('A function takes an API key alone.');
}
