/** The only code that asks the server for something; streams are in `events.ts`. */

import createClient from "openapi-fetch";
import { ApiError, Disconnected, messageOf, wasAborted } from "./errors";
import { authorization, keyRefused } from "./key";
import type { paths } from "./schema.generated";

export const api = createClient<paths>({ baseUrl: "" });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
  onError({ error }) {
    return wasAborted(error) ? undefined : new Disconnected();
  },
});

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The body of an answer, or the error it is. */
export async function read<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (response.status === 401) keyRefused();
  if (!response.ok || data === undefined) {
    throw new ApiError(response.status, messageOf(error, response.status));
  }
  return data;
}
