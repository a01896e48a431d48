"""Strategy and validation of CertificateSigningRequests."""
