// The HTML of every page of the dashboard, and the headers that keep foreign code out of it. The page itself is drawn in the browser.
import type { Assets } from './assets.ts';

/** Nothing is loaded from elsewhere, nothing is inline, nobody may frame it. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Of the shell and of every file. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
};

export function shellText({ mark, style, main, preloaded }: Assets): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Model gateway</title>',
    `<link rel="icon" type="image/svg+xml" href="${mark.address}">`,
    `<link rel="stylesheet" href="${style.address}">`,
    ...preloaded.map(({ address }) => `<link rel="modulepreload" href="${address}">`),
    `<script type="module" src="${main.address}"></script>`,
    '</head>',
    '<body>',
    '<div id="page"></div>',
    '<noscript>The dashboard needs JavaScript. What it can do, the admin API can: GET /admin/openapi.json.</noscript>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
