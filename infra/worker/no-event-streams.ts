// A stub in the bundle for the event streams of the AWS SDK: no request of a function is answered by one.

/** Refuses to read or write a stream of events. */
export class EventStreamSerde {
  constructor() {
    throw new Error('A function has no streams of events.');
  }
}

/** Gives a client the marshaller that it asks for when it is made, and never uses. */
export function eventStreamSerdeProvider(): Record<string, never> {
  return {};
}

/** Leaves the configuration of a client as it is. */
export function resolveEventStreamSerdeConfig<Configuration>(configuration: Configuration): Configuration {
  return configuration;
}
