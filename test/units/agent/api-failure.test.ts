import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../../src/agent/api-failure.ts';

/** The errors that the SDK threw before 1.6: the class alone has the name. */
class APIConnectionError extends Error {}
class APIConnectionTimeoutError extends APIConnectionError {}
class SomeError extends Error {}

describe('a failure in the words of an SDK before 1.6', () => {
  it.each([new APIConnectionError('Connection error.'), new APIConnectionTimeoutError('Timed out.')])(
    'is one of the connection by its class: %o',
    (error) => {
      expect(error.name).toBe('Error');
      expect(describeFailure(error)).toMatchObject({ code: 'connection', retry: 'later' });
    },
  );

  it('stays unexpected where the class says nothing', () => {
    expect(describeFailure(new SomeError('No.'))).toMatchObject({ code: 'unexpected', retry: 'never' });
    const bare = Object.assign(Object.create(null), { name: 'Error' });
    expect(describeFailure(bare)).toMatchObject({ code: 'unexpected', retry: 'never' });
  });

  it('has the code of a spend limit in the body of the answer', () => {
    const body = { error: { details: { error_code: 'enforced_spend_limit_reached' } } };
    const error = Object.assign(new SomeError('429'), { status: 429, type: 'rate_limit_error', error: body });
    expect(describeFailure(error)).toMatchObject({ code: 'billing_error', retry: 'later' });
  });
});
