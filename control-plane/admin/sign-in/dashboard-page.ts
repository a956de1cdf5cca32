// The page of the dashboard that a browser is sent to after it has signed in.

export const dashboardPath = '/admin/dashboard';

/** The path and query of a page of this dashboard; of anything else, the dashboard itself: no address leads elsewhere. */
export function dashboardPage(given: string, origin: string): string {
  const url = URL.parse(given, origin);
  const isPage = url?.pathname === dashboardPath || url?.pathname.startsWith(`${dashboardPath}/`) === true;
  return url !== null && isPage && url.origin === new URL(origin).origin ? url.pathname + url.search : dashboardPath;
}
