/** Whether the reader of standard output is gone. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** Of a verb that only shows: a reader that has seen enough, such as `head`, is no failure. */
export function forReaders<Run>(action: (run: Run) => Promise<number>): (run: Run) => Promise<number> {
  return async (run) => {
    try {
      return await action(run);
    } catch (error) {
      if (isReaderGone(error)) return 0;
      throw error;
    }
  };
}
