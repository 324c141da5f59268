/** What a function answered instead of a result, or what became of its process. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError';
  /** The name of the error that the handler threw; `Runtime.*` where the runtime itself failed. */
  readonly type: string;

  constructor(type: string, message: string) {
    super(`${type}: ${message}`);
    this.type = type;
  }
}
