/** The code of Node for what the file system said, such as ENOSPC; undefined for an error of another kind. */
export function fileCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * An error of the file system without the paths in its message and fields: they name files of the tenant, and folders
 * of the machine. Whoever prints a cause prints all of it.
 */
export function tellableFileCause(error: unknown): Error {
  const { syscall, errno } = (error ?? {}) as { readonly syscall?: unknown; readonly errno?: unknown };
  const code = fileCodeOf(error);
  const call = typeof syscall === 'string' ? syscall : 'a call';
  const told = new Error(`The file system refused ${call} (${code ?? 'unknown error'}).`);
  return Object.assign(told, { code, syscall: typeof syscall === 'string' ? syscall : undefined, errno });
}
