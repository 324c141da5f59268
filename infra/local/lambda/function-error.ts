/** The answer of a function that gave no result, or the end of its process. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
  /** The name of the error that the handler threw; `Runtime.*` where the runtime itself failed. */
  readonly type: string;

  constructor(type: string, message: string) {
    super(`${type}: ${message}`);
    this.type = type;
  }
}
