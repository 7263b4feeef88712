declare module "shipped" {
  const shipped: { scenarios: Record<string, string>; files: Record<string, string> };
  export default shipped;
}
