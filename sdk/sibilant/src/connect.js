/** Connecting in one expression. */

import { PromClient } from "@promethean/client";

/**
 * @param {string} url
 * @param {import("@promethean/client").Token} [token]
 * @param {import("@promethean/client").ClientOptions} [options]
 * @returns {Promise<PromClient>} connected
 */
export async function connect(url, token, options) {
  const client = new PromClient(url, token, options);
  await client.connect();
  return client;
}
