// A target of headers alone has a file, too.
