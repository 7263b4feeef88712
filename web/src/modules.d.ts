declare module "shipped" {
  const shipped: { scenarios: Record<string, string>; files: Record<string, string> };
  export default shipped;
}
declare module "first" {
  const first: import("./experiment.ts").Stored | null;
  export default first;
}
declare module "gallery" {
  const gallery: import("./gallery.ts").Section[];
  export default gallery;
}
declare const SOJOURN_VERSION: string;
