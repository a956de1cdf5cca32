// The HTTP client of Microsoft's package.
import type { INetworkModule, NetworkRequestOptions, NetworkResponse } from '@azure/msal-node';
import { shownWords } from './vendor-error.ts';
import { requestFailed } from './vendor-fetch.ts';

export function azureNetwork(fetch: typeof globalThis.fetch): INetworkModule {
  const ask = async <Body>(url: string, init: RequestInit): Promise<NetworkResponse<Body>> => {
    try {
      const response = await fetch(url, init);
      const body = parse(await response.text());
      if (body === undefined) throw new Error(`HTTP ${response.status} without a JSON object`);
      requestFailed(undefined);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: body as Body };
    } catch (error) {
      requestFailed(new Error(`${new URL(url).host}: ${shownWords(error)}`));
      throw error;
    }
  };
  return {
    sendGetRequestAsync: (url, options) => ask(url, { headers: headersOf(options) }),
    sendPostRequestAsync: (url, options) =>
      ask(url, { method: 'POST', headers: headersOf(options), body: options?.body ?? '' }),
  };
}

function headersOf(options: NetworkRequestOptions | undefined): Record<string, string> {
  return options?.headers ?? {};
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
