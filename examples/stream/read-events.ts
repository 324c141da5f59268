/** One server-sent event of the answer. */
export interface TurnEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, string>>;
}

/** Reads the events of an answer as they come, in a browser as anywhere else. (`EventSource` cannot send a POST.) */
export async function* readEvents(response: Response): AsyncGenerator<TurnEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const [, event = '', data = '{}'] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
      yield { event, data: JSON.parse(data) };
    }
  }
}
