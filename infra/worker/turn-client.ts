import { BaseAnthropic, type ClientOptions } from '@anthropic-ai/sdk/client';
import { Messages } from '@anthropic-ai/sdk/resources/beta/messages/messages';

/**
 * The SDK's client with the one resource that turns use. The other ones, which nothing here calls, would be a fifth of
 * the bundle, and every start would read them.
 */
export class TurnClient extends BaseAnthropic {
  constructor(options: ClientOptions = {}) {
    // The setting overrides the environment: decrypted text must never enter a span.
    super({ ...options, openTelemetry: { traces: { contentMode: 'metadata_only' } } });
  }

  readonly beta: { readonly messages: Messages } = { messages: new Messages(this) };
}
